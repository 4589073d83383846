// Package machine finds out what a machine can run: processors, memory, disk,
// what the cache's file system can do, container runtimes, GPUs and Kaggle
// credentials. It changes nothing but a probe folder that it removes, and
// never reads the value of a secret into a result.
package machine
