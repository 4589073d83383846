// Package draw is the step kind that makes another task of a competition's prepared data: a
// small split of them, or the data of a step of kind holdout, whose test is a part of the
// training data. What is made of its outputs says so, as a condition.
package draw
