package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
)

const (
	prometheusName    = "prometheus"
	prometheusBinary  = "/usr/bin/prometheus"
	prometheusAddress = hostAddress + ":9090"
	// scrapeTimeout includes the five seconds that Prometheus takes to reload its targets file.
	scrapeTimeout = 3 * time.Minute
	// controlPlanePeriod is longer than that of other targets, because the API server has many metrics and a slow
	// machine takes more than a second to serve them.
	controlPlanePeriod = 5 * time.Second
)

// ControlPlaneTargets returns the cluster's own programs.
func (c *Cluster) ControlPlaneTargets() []prometheus.Target {
	return []prometheus.Target{
		{Job: apiServer, Addresses: []string{fmt.Sprintf("%s:%d", hostAddress, apiPort)}, HTTPS: true, Period: controlPlanePeriod},
		{Job: controllerManager, Addresses: []string{"127.0.0.1:10257"}, HTTPS: true, Period: controlPlanePeriod},
		{Job: scheduler, Addresses: []string{"127.0.0.1:10259"}, HTTPS: true, Period: controlPlanePeriod},
		{Job: etcd, Addresses: []string{etcdAddress}, Period: controlPlanePeriod},
	}
}

// Prometheus scrapes exactly the given targets, once per second unless they specify a period. A call with different
// targets updates them without a restart. It returns once each target has been scraped.
func (c *Cluster) Prometheus(ctx context.Context, targets ...prometheus.Target) (prometheus.Server, error) {
	server := prometheus.Server{URL: "http://" + prometheusAddress}
	if _, err := os.Stat(prometheusBinary); err != nil {
		return server, errors.New("prometheus is not installed on this host: hack/install-debian.sh prometheus installs it")
	}
	program, err := c.prometheusProgram(targets)
	if err != nil {
		return server, err
	}
	if err := c.StartProgram(ctx, program); err != nil {
		return server, err
	}
	err = poll(ctx, scrapeTimeout, func(ctx context.Context) error { return scraped(ctx, server, targets) })
	if err != nil {
		return server, fmt.Errorf("waiting for Prometheus' targets: %w", err)
	}
	return server, nil
}

// StopPrometheus stops Prometheus and removes its data. Otherwise the next instance would show earlier targets as if
// they were up.
func (c *Cluster) StopPrometheus(ctx context.Context) error {
	if err := c.StopProgram(ctx, prometheusName); err != nil {
		return err
	}
	if err := os.RemoveAll(c.prometheusData()); err != nil {
		return fmt.Errorf("removing Prometheus' data: %w", err)
	}
	return nil
}

func (c *Cluster) prometheusData() string { return c.layout.state(prometheusName, "data") }

func (c *Cluster) prometheusProgram(targets []prometheus.Target) (Program, error) {
	pki := c.layout.store()
	files := prometheus.Files{
		Targets:           c.layout.state("config", "prometheus-targets.json"),
		ClientCertificate: pki.Certificate(adminCert + "-client"),
		ClientKey:         pki.Key(adminCert + "-client"),
	}
	list, err := prometheus.TargetsFile(targets)
	if err != nil {
		return Program{}, err
	}
	config, err := prometheus.Config(files)
	if err != nil {
		return Program{}, err
	}
	path := c.layout.state("config", "prometheus.json")
	if err := errors.Join(writeFile(files.Targets, list), writeFile(path, config)); err != nil {
		return Program{}, err
	}
	return Program{
		Name: prometheusName,
		Command: []string{
			prometheusBinary, "--config.file=" + path, "--storage.tsdb.path=" + c.prometheusData(),
			"--web.listen-address=" + prometheusAddress, "--log.level=warn",
		},
		Inputs: []string{config},
		Ready:  answersOK(plainClient, "http://"+prometheusAddress+"/-/ready"),
	}, nil
}

// scraped returns an error unless every target was up within the last few seconds.
func scraped(ctx context.Context, server prometheus.Server, targets []prometheus.Target) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	samples, err := server.Query(ctx, "up")
	if err != nil {
		return err
	}
	up := map[string]bool{}
	for _, s := range samples {
		up[s.Labels["job"]+" "+s.Labels["instance"]] = s.Value == 1
	}
	for _, target := range targets {
		for _, address := range target.Addresses {
			if !up[target.Job+" "+address] {
				return fmt.Errorf("%s at %s is not up", target.Job, address)
			}
		}
	}
	return nil
}
