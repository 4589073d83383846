// Package sketch is the step kind "sketch": the part of a competition's answers on which
// the validity of a submission depends, without any label.
//
// The validity server needs it to give an agent the verdict of the grader. It never gets
// into the agent's sandbox. grading.WriteSketch says what it holds.
package sketch
