package metric

// Absent are Kaggle's metrics that none of these is.
var Absent = []string{"Keypoints of several objects per row, Hungarian-matched"}

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy, angularError, answerSpans, averagePrecisionScore, balancedAccuracy, bestErrorAtK, biasAUC, brier, cIndex, cocoAP, columnwiseLogLoss, crps, cuboidAP,
		detectionAP, dice, diceHausdorff, errorRate, f1, gap, gini, hammingLoss, haversine, jaccard, jaccardWords, kappa, kendallTau, klDivergence, laplace,
		levenshtein, logLoss, logMAE, lwlrap, mae, mape, mapAtK, maskFBeta, maskIoU, maskPrecision, matthews, medianError, mrr, mse, multilabelF1,
		ndcg, ndcgAtK, oks, pearson, pinball, pointInBoxF1, precision, precisionAtK, probabilisticF1, r2, recall, recallAtK, rmse, rmsle, rmspe,
		rocAUC, sequenceErrorRate, smape, spearman, weightedAUC, weightedLogLoss, wordErrorRate, wrmsse, wspl,
	)
}
