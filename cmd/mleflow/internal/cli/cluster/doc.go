// Package cluster has the commands for machines: cluster, worker, doctor.
package cluster
