package bootstrap

import (
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

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
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_build_info",
		Help: "Always 1; the labels say what was built.",
		ConstLabels: prometheus.Labels{
			"program": program, "version": version.Version(), "commit": version.Commit(), "go_version": runtime.Version(),
		},
	})
	info.Set(1)
	var there prometheus.AlreadyRegisteredError
	if err := registry.Register(info); err != nil && !errors.As(err, &there) {
		return fmt.Errorf("registering the build info: %w", err)
	}
	return nil
}
