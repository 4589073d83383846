// Package small holds the small program: a program with the packages supervise and first
// and nothing else. Supervisors and the first processes of sandboxes are started with it,
// because a process of this program takes milliseconds longer to start and megabytes more
// memory.
//
// make build and make release build the small program and lay it over the folder built,
// which is why a plain go build works as well: its processes are those of the whole
// program.
package small
