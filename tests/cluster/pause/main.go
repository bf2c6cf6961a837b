// Pause waits until it gets a signal to end: the one process of a Pod's sandbox, which holds its network open.
// In place of the image that Kubernetes publishes, so that a test cluster needs no registry.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
}
