package metric

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy,
		errorRate,
		f1,
		kappa,
		logLoss,
		mae,
		mse,
		rmse,
		rmsle,
		rocAUC,
	)
}
