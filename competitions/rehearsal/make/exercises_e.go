package main

var exercisesE = []exercise{}
