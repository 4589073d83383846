package task

import "time"

// Tests do not wait long for servers that do not answer.
func init() { patience = time.Second }
