package metric

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy,
		errorRate,
		f1,
		jaccardWords,
		kappa,
		kendallTau,
		levenshtein,
		logLoss,
		mae,
		mapAtK,
		matthews,
		mse,
		multilabelF1,
		pearson,
		rmse,
		rmsle,
		rocAUC,
		sequenceErrorRate,
		spearman,
	)
}
