package main

var exercisesC = []exercise{}
