package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/lab"
)

// counters of a manager since its start.
type counters struct {
	CPU        float64            // seconds
	Calls      map[string]float64 // to the API server, by method
	Webhooks   float64            // calls by the API server
	Reconciles float64            // of JobSets
	Allocated  float64            // bytes
}

// usage of one phase.
type usage struct {
	Seconds    float64            `json:"seconds"`
	CPU        float64            `json:"cpuSeconds"`
	MemoryMiB  float64            `json:"peakMiB"`
	Calls      map[string]float64 `json:"apiCalls"`
	Webhooks   float64            `json:"webhookCalls"`
	Reconciles float64            `json:"reconciles"`
	Allocated  float64            `json:"allocatedMiB"`
}

func (u usage) calls() float64 {
	var n float64
	for _, calls := range u.Calls {
		n += calls
	}
	return n
}

func (c counters) since(before counters) usage {
	u := usage{
		CPU: c.CPU - before.CPU, Webhooks: c.Webhooks - before.Webhooks, Reconciles: c.Reconciles - before.Reconciles,
		Allocated: (c.Allocated - before.Allocated) / (1 << 20), Calls: map[string]float64{},
	}
	for method, calls := range c.Calls {
		if n := calls - before.Calls[method]; n > 0 {
			u.Calls[method] = n
		}
	}
	return u
}

const scraperName = "bench-jobset"

// scraper reads the metrics of the manager, which lets only those in whom the cluster lets get them.
func scraper(ctx context.Context, l *lab.Lab) (func(context.Context) (counters, error), error) {
	token, err := token(ctx, l)
	if err != nil {
		return nil, err
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // self-signed, on the loopback
	return func(ctx context.Context) (counters, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+metrics+"/metrics", nil)
		if err != nil {
			return counters{}, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := web.Do(request)
		if err != nil {
			return counters{}, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return counters{}, fmt.Errorf("the manager's metrics: %s", response.Status)
		}
		return read(response.Body)
	}, nil
}

// token of an account that may read metrics.
func token(ctx context.Context, l *lab.Lab) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: scraperName, Namespace: "default"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: scraperName},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: scraperName, Namespace: "default"}},
	}
	for _, create := range []func() error{
		func() error { return l.Client.Create(ctx, account) },
		func() error { return l.Client.Create(ctx, role) },
		func() error { return l.Client.Create(ctx, binding) },
	} {
		if err := create(); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](7200)}}
	answer, err := l.Kube.CoreV1().ServiceAccounts("default").CreateToken(ctx, scraperName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

var (
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9.eE+-]+)$`)
	method = regexp.MustCompile(`method="([A-Z]+)"`)
)

// read sums up what is wanted of an exposition.
func read(from io.Reader) (counters, error) {
	c := counters{Calls: map[string]float64{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := sample.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}
		switch m[1] {
		case "process_cpu_seconds_total":
			c.CPU = value
		case "rest_client_requests_total":
			if of := method.FindStringSubmatch(m[2]); of != nil {
				c.Calls[of[1]] += value
			}
		case "controller_runtime_webhook_requests_total":
			c.Webhooks += value
		case "controller_runtime_reconcile_total":
			if strings.Contains(m[2], `controller="jobset"`) {
				c.Reconciles += value
			}
		case "go_memstats_alloc_bytes_total":
			c.Allocated = value
		}
	}
	return c, lines.Err()
}
