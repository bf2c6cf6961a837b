// Pause waits until it is told to end: the one process of a Pod's sandbox, which holds its network open.
// In place of the image that Kubernetes publishes, so that a test cluster needs no registry.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	<-told
}
