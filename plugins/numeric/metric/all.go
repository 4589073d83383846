package metric

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy, angularError, answerSpans, biasAUC, cocoAP, cuboidAP, detectionAP, dice, diceHausdorff,
		errorRate, f1, haversine, jaccardWords, kappa, kendallTau, klDivergence, laplace, levenshtein,
		logLoss, logMAE, lwlrap, mae, mapAtK, maskFBeta, maskPrecision, matthews, mse, multilabelF1,
		pearson, pointInBoxF1, probabilisticF1, rmse, rmsle, rocAUC, sequenceErrorRate, spearman,
		weightedAUC, weightedLogLoss,
	)
}
