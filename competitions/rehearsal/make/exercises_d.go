package main

var exercisesD = []exercise{}
