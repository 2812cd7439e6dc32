package bootstrap

import (
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
	"github.com/holdfast-project/holdfast/shared/version"
)

func (o *Options) metricsServer(change func(*tls.Config)) server.Options {
	options := server.Options{
		BindAddress: o.Metrics.Address, SecureServing: o.Metrics.Secure, CertDir: o.Metrics.CertDir,
		TLSOpts: []func(*tls.Config){change, onlyHTTP1},
	}
	if o.Metrics.Secure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// registerBuildInfo lets dashboards tell versions apart. A second manager of the process finds it there.
func registerBuildInfo(registry prometheus.Registerer, program string) error {
	info := meter.GaugeVec(series.BuildInfo)
	var there prometheus.AlreadyRegisteredError
	if err := registry.Register(info); errors.As(err, &there) {
		info = there.ExistingCollector.(*prometheus.GaugeVec)
	} else if err != nil {
		return fmt.Errorf("registering the build info: %w", err)
	}
	info.WithLabelValues(program, version.Version(), version.Commit(), runtime.Version()).Set(1)
	return nil
}
