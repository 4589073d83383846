package metric

// Absent are Kaggle's metrics that none of these is.
var Absent = []string{"Global Average Precision (GAP)", "Word Error Rate (strings)", "Weighted Scaled Pinball Loss (WSPL)", "Mean Best Error at K", "Hungarian-matched keypoints (OKS)"}

// All returns the registry of every metric of this package.
func All() *Registry {
	return NewRegistry(
		accuracy, angularError, answerSpans, averagePrecisionScore, balancedAccuracy, biasAUC, brier, cIndex, cocoAP, crps, cuboidAP,
		detectionAP, dice, diceHausdorff, errorRate, f1, gini, haversine, jaccard, jaccardWords, kappa, kendallTau, klDivergence, laplace,
		levenshtein, logLoss, logMAE, lwlrap, mae, mape, mapAtK, maskFBeta, maskIoU, maskPrecision, matthews, medianError, mrr, mse, multilabelF1,
		ndcg, ndcgAtK, pearson, pinball, pointInBoxF1, precision, precisionAtK, probabilisticF1, r2, recall, recallAtK, rmse, rmsle, rmspe,
		rocAUC, sequenceErrorRate, smape, spearman, weightedAUC, weightedLogLoss, wrmsse,
	)
}
