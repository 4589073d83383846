package main

var exercisesG = []exercise{}
