package bootstrap

import (
	"fmt"
	"runtime"

	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/shared/version"
)

// cluster is the connection as this program uses it; the one given stays as it is.
func (o *Options) cluster(c *rest.Config, program string) *rest.Config {
	own := rest.CopyConfig(c)
	own.QPS, own.Burst = o.Client.QPS, o.Client.Burst
	own.UserAgent = userAgent(program)
	return own
}

func userAgent(program string) string {
	return fmt.Sprintf("%s/%s (%s/%s) %s", program, version.Version(), runtime.GOOS, runtime.GOARCH, version.Commit())
}
