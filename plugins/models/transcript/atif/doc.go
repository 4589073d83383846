// Package atif writes transcripts as trajectories in ATIF, the Agent Trajectory
// Interchange Format that Harbor reads, version 1.7.
//
// The longest conversation is the trajectory; others, such as those of subagents,
// are embedded in it. Each exchange is a step of the agent, with its tokens and
// cost; what tools returned is the observation of the step that called them.
// Images and the like are named by their type only.
package atif
