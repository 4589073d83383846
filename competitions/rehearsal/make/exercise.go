package main

import "slices"

// exercise is one competition's part of a rehearsal.
type exercise struct {
	id string
	// chance is the score to beat if the sample submission has none, or NaN.
	chance float64
	// draw writes the raw data.
	draw func(*set)
	// learn trains a simple model on the prepared public data and submits its
	// predictions.
	learn func(*lesson)
}

// exercises returns the exercises of all competitions that need a download.
func exercises() []exercise {
	return slices.Concat(exercisesA, exercisesB, exercisesC, exercisesD, exercisesG,
		exercisesH, exercisesI, exercisesJ, exercisesK, exercisesL)
}
