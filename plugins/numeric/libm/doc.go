// Package libm has elementary functions that give the same bits on every
// machine. Those of package math do not: some are written in assembly on some
// processors, and the others are compiled with fused multiply-adds where the
// processor has them.
//
// The functions here are made of additions, multiplications, divisions and
// square roots, which are rounded one by one, and of math.FMA, which is exact
// everywhere. They compute with pairs of numbers, so that their errors are below
// 0.501 units in the last place: what they return is nearly always the number
// nearest to the true value.
package libm
