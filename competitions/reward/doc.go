// Package reward turns reports into rewards for reinforcement learning, numbers from 0
// to 1. docs/training.md defines the kinds.
package reward
