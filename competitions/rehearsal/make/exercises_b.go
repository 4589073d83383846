package main

var exercisesB = []exercise{}
