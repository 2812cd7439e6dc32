package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
)

func printTable(w io.Writer, all []result) {
	fmt.Fprintf(w, "\nmilliseconds from the death of one worker, p50 / p99 / last of the members; medians of the rounds\n\n")
	fmt.Fprintln(w, "| members | order at the member | joined again | knows that all have | formed from nothing |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %d | %s | %s | %s | %d |\n", r.Members, spread(r.Median.Order), spread(r.Median.Join), spread(r.Median.Start),
			r.Formed.Milliseconds())
	}
	fmt.Fprintf(w, "\n| members | connections | store, KiB a member | commands a restart, with those inside functions | store CPU a member and restart, us | CPU of members, us | member here, KiB |\n")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %d | %d%s | %.1f | %.0f | %.1f | %.1f | %.0f |\n", r.Members, r.Server.Connections, shared(r.Share),
			float64(r.Server.Bytes)/float64(r.Members)/1024, r.PerRound.Calls, r.PerRound.CPU*1e6/float64(r.Members), r.PerRound.MembersCPU*1e6/float64(r.Members), float64(r.Heap)/1024)
	}
}

func spread(s members.Spread) string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%.0f / %.0f / %.0f", ms(s.P50), ms(s.P99), ms(s.Last))
}

func shared(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d members share one for calls)", n)
}

func save[T any](dir, name string, all []T) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(content, '\n'), 0o644)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
