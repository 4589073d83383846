// Package atif writes transcripts as trajectories in ATIF, the Agent Trajectory
// Interchange Format that Harbor reads, version 1.7.
//
// The longest conversation is the trajectory. Others, such as those of
// subagents, are embedded in it. Each exchange is a step of the agent, with its
// tokens and cost. The results of tools are the observation of the step that
// called them. Images and other media are replaced by their types.
package atif
