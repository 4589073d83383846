package metric

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy,
		angularError,
		biasAUC,
		errorRate,
		f1,
		haversine,
		jaccardWords,
		kappa,
		kendallTau,
		klDivergence,
		laplace,
		levenshtein,
		logLoss,
		logMAE,
		lwlrap,
		mae,
		mapAtK,
		matthews,
		mse,
		multilabelF1,
		pearson,
		probabilisticF1,
		rmse,
		rmsle,
		rocAUC,
		sequenceErrorRate,
		spearman,
		weightedAUC,
		weightedLogLoss,
	)
}
