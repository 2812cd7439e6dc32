package testbed

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

// Status is the state of the testbed.
type Status struct {
	Up         bool
	Components []ComponentStatus
	// Answers reports whether the API server responds. If not, Nodes and Pods are empty.
	Answers bool
	Nodes   []string
	// Simulated is the number of simulated nodes, which are not included in Nodes.
	Simulated int
	Pods      int
	// Leftovers is set when the testbed is not up.
	Leftovers []string
}

// ComponentStatus is one line of the status.
type ComponentStatus struct {
	Name  string
	PID   int
	Alive bool
	Log   string
}

// Inspect returns what is running. It is read-only and does not need a lock.
func Inspect(ctx context.Context) (Status, error) {
	cluster, err := Attach()
	if err != nil {
		left, leftErr := Leftovers(ctx)
		return Status{Leftovers: left}, leftErr
	}
	status := Status{Up: true}
	for _, record := range cluster.table().All() {
		status.Components = append(status.Components, ComponentStatus{
			Name: record.Name, PID: record.ID.PID, Alive: record.ID.Alive(), Log: cluster.layout.Log(record.Name),
		})
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cluster.ask(ctx, &status)
	return status, nil
}

// ask adds the state that the API server reports, if it responds.
func (c *Cluster) ask(ctx context.Context, status *Status) {
	client, err := c.up().client()
	if err != nil {
		return
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	status.Answers = true
	for _, node := range nodes.Items {
		if node.Labels[kubelet.TypeLabel] == kubelet.Type {
			status.Simulated++
			continue
		}
		state := "Ready"
		if err := takesPods(&node, time.Time{}); err != nil {
			state = err.Error()
		}
		status.Nodes = append(status.Nodes, node.Name+": "+state)
	}
	if pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{}); err == nil {
		status.Pods = len(pods.Items)
	}
}

// Healthy reports whether every component is running and the API server responds.
func (s Status) Healthy() bool {
	for _, c := range s.Components {
		if !c.Alive {
			return false
		}
	}
	return s.Up && s.Answers
}

// Print prints the status.
func (s Status) Print(w io.Writer) {
	if !s.Up {
		fmt.Fprintln(w, "the testbed is down")
		for _, left := range s.Leftovers {
			fmt.Fprintln(w, "left on this host:", left)
		}
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tSTATE\tLOG")
	for _, c := range s.Components {
		state := "running"
		if !c.Alive {
			state = "not running"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", c.Name, c.PID, state, c.Log)
	}
	table.Flush()
	for _, node := range s.Nodes {
		fmt.Fprintln(w, node)
	}
	if s.Simulated > 0 {
		fmt.Fprintf(w, "%d simulated nodes\n", s.Simulated)
	}
	if !s.Answers {
		fmt.Fprintln(w, "the API server is unreachable")
		return
	}
	fmt.Fprintf(w, "%d pods\n", s.Pods)
}
