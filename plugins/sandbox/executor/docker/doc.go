// Package docker is the runtime that isolates agents in the containers of a server of
// Docker's API: Docker or Podman, of root or of an ordinary user. It is the only user of
// Docker's client.
//
// # What the guest has
//
// The guest has the same as in the other runtimes that isolate: the image's files,
// read-only; the mounts of the Spec; /tmp, /run and /dev/shm in memory, of limited size; its
// own processes, host name and loopback interface; an unprivileged user without
// capabilities that cannot gain privileges. The list of system calls is the server's and,
// below it, containerd's.
//
// # How it runs
//
// The first process of each container is mleflow, as in the sandbox: package sandbox owns
// it and package first is it. Here the server builds the guest's world, so the first
// process has no capability either. It gets its descriptors, among them the command's
// streams and the plan with the environment, through a socket that is mounted into the
// container and closed afterwards. Neither the environment nor the output therefore reaches
// the server. The first process makes the listeners of the Spec's services and passes them
// out, watches what the server does not limit, and continues when its owner dies.
//
// # The server
//
// It is the one of DOCKER_HOST, of the current context or of the usual sockets; see Find. It
// must share this machine's kernel and files, because folders and sockets are mounted. A
// server in a virtual machine, as Docker Desktop's, does not.
//
// # Users
//
// A server of an ordinary user has a user namespace, in which Podman maps the guest's 1000 to
// the caller and Docker maps 0. A server of root has one only with userns-remap. Without it
// the guest is the machine's user 1000, who can reach nothing of the machine, or the caller
// if that is not root.
//
// # What is left
//
// All containers have labels with the run's name and a secret of the runtime's folder, so no
// label of an image or of somebody's container makes it one of ours. Sweep removes the
// containers whose run nobody can resume, and the images that the runtime has loaded and not
// used for long.
package docker
