// The DNS server of the test cluster: CoreDNS with the few plugins that answer for Services.
// A module of its own, as it follows other releases than Kubernetes does.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	dnsserver.Directives = []string{"errors", "health", "ready", "kubernetes"}
}

func main() { coremain.Run() }
