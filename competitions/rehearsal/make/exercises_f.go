package main

var exercisesF = []exercise{}
