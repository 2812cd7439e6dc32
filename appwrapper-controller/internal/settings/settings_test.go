package settings

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
)

// The defaults match docs/appwrapper.md.
func TestDefaultFaultTolerance(t *testing.T) {
	got, problems := Read(nil, Default().FaultTolerance)
	want := Parameters{FaultTolerance: FaultTolerance{
		AdmissionGracePeriod: Duration{time.Minute}, WarmupGracePeriod: Duration{5 * time.Minute}, FailureGracePeriod: Duration{time.Minute},
		RetryPausePeriod: Duration{90 * time.Second}, RetryLimit: 3, ForcefulDeletionGracePeriod: Duration{10 * time.Minute},
		SuccessTTL: Duration{7 * 24 * time.Hour}, GracePeriodMaximum: Duration{24 * time.Hour},
	}}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

func TestAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value string
		get        func(Parameters) any
		want       any
		problem    string
	}{
		"admission":                         {key: v1beta2.AdmissionGracePeriodKey, value: "2m", get: func(p Parameters) any { return p.AdmissionGracePeriod.Duration }, want: 2 * time.Minute},
		"warmup":                            {key: v1beta2.WarmupGracePeriodKey, value: "7s", get: func(p Parameters) any { return p.WarmupGracePeriod.Duration }, want: 7 * time.Second},
		"failure":                           {key: v1beta2.FailureGracePeriodKey, value: "0s", get: func(p Parameters) any { return p.FailureGracePeriod.Duration }, want: time.Duration(0)},
		"pause":                             {key: v1beta2.RetryPausePeriodKey, value: "1h30m", get: func(p Parameters) any { return p.RetryPausePeriod.Duration }, want: 90 * time.Minute},
		"force":                             {key: v1beta2.ForcefulDeletionGracePeriodKey, value: "3s", get: func(p Parameters) any { return p.ForcefulDeletionGracePeriod.Duration }, want: 3 * time.Second},
		"debugging":                         {key: v1beta2.DeletionOnFailureGracePeriodKey, value: "5m", get: func(p Parameters) any { return p.DeletionOnFailureGracePeriod.Duration }, want: 5 * time.Minute},
		"above the maximum":                 {key: v1beta2.WarmupGracePeriodKey, value: "48h", get: func(p Parameters) any { return p.WarmupGracePeriod.Duration }, want: 24 * time.Hour},
		"debugging above the maximum":       {key: v1beta2.DeletionOnFailureGracePeriodKey, value: "25h", get: func(p Parameters) any { return p.DeletionOnFailureGracePeriod.Duration }, want: 24 * time.Hour},
		"below zero":                        {key: v1beta2.FailureGracePeriodKey, value: "-5m", get: func(p Parameters) any { return p.FailureGracePeriod.Duration }, want: time.Duration(0)},
		"not a duration":                    {key: v1beta2.FailureGracePeriodKey, value: "60", get: func(p Parameters) any { return p.FailureGracePeriod.Duration }, want: time.Minute, problem: `"60" is not a duration`},
		"a time to live below its ceiling":  {key: v1beta2.SuccessTTLKey, value: "1h", get: func(p Parameters) any { return p.SuccessTTL.Duration }, want: time.Hour},
		"a time to live above its ceiling":  {key: v1beta2.SuccessTTLKey, value: "200h", get: func(p Parameters) any { return p.SuccessTTL.Duration }, want: 168 * time.Hour},
		"a time to live above the maximum":  {key: v1beta2.SuccessTTLKey, value: "48h", get: func(p Parameters) any { return p.SuccessTTL.Duration }, want: 48 * time.Hour},
		"a time to live of zero":            {key: v1beta2.SuccessTTLKey, value: "0s", get: func(p Parameters) any { return p.SuccessTTL.Duration }, want: 168 * time.Hour, problem: "below the minimum"},
		"a limit":                           {key: v1beta2.RetryLimitKey, value: "0", get: func(p Parameters) any { return int(p.RetryLimit) }, want: 0},
		"an invalid limit":                  {key: v1beta2.RetryLimitKey, value: "x", get: func(p Parameters) any { return int(p.RetryLimit) }, want: 3, problem: "not a whole number"},
		"exit codes with spaces":            {key: v1beta2.TerminalExitCodesKey, value: "3, 10", get: func(p Parameters) any { return p.TerminalExitCodes }, want: []int32{3, 10}},
		"an invalid exit code":              {key: v1beta2.RetryableExitCodesKey, value: "3,x", get: func(p Parameters) any { return p.RetryableExitCodes }, want: []int32{3}, problem: `"x" is not an exit code`},
		"a misspelled annotation (B-28)":    {key: "workload.codeflare.dev.appwrapper/delectionOnFailure", value: "1m", get: func(p Parameters) any { return p.DeletionOnFailureGracePeriod.Duration }, want: time.Duration(0), problem: "unknown annotation"},
		"an annotation of another project":  {key: "example.com/a", value: "1m", get: func(p Parameters) any { return p.RetryLimit.Left(0) }, want: int32(3)},
		"a negative limit allows no resets": {key: v1beta2.RetryLimitKey, value: "-1", get: func(p Parameters) any { return p.RetryLimit.Allows(0) }, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			p, problems := Read(map[string]string{tc.key: tc.value}, Default().FaultTolerance)
			if diff := cmp.Diff(tc.want, tc.get(p)); diff != "" {
				t.Error(diff)
			}
			if len(problems) > 1 || (len(problems) == 1) != (tc.problem != "") || (len(problems) == 1 && !strings.Contains(problems[0], tc.problem)) {
				t.Errorf("problems %v, want %q", problems, tc.problem)
			}
		})
	}
}

func TestDurationFormats(t *testing.T) {
	for text, want := range map[string]time.Duration{`"5m"`: 5 * time.Minute, `300000000000`: 5 * time.Minute, `0`: 0, `"90s"`: 90 * time.Second} {
		var got Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Duration != want {
			t.Errorf("%s: %s (%v)", text, got.Duration, err)
		}
	}
	for _, text := range []string{`"5"`, `true`, `""`, `1.5`, `{}`} {
		if err := json.Unmarshal([]byte(text), new(Duration)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestFaultToleranceValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*AppWrapper)
		want   string
	}{
		"the defaults":               {func(*AppWrapper) {}, ""},
		"a period above the ceiling": {func(a *AppWrapper) { a.FaultTolerance.RetryPausePeriod.Duration = 25 * time.Hour }, "faultTolerance.resetPause: 25h0m0s exceeds gracePeriodCeiling"},
		"admission after warmup":     {func(a *AppWrapper) { a.FaultTolerance.AdmissionGracePeriod.Duration = time.Hour }, "admissionGracePeriod: 1h0m0s exceeds warmupGracePeriod"},
		"a time to live of zero":     {func(a *AppWrapper) { a.FaultTolerance.SuccessTTL.Duration = 0 }, "successTTLCeiling: 0s is not positive"},
		"a negative period":          {func(a *AppWrapper) { a.FaultTolerance.FailureGracePeriod.Duration = -1 }, "failureGracePeriod: -1ns is negative"},
		"an unknown effect":          {func(a *AppWrapper) { a.Autopilot.ResourceTaints["x"] = []corev1.Taint{{Key: "a", Effect: "No"}} }, `resourceTaints[x][0].effect: must be NoSchedule, NoExecute or PreferNoSchedule, not "No"`},
		"a signal with two sources": {func(a *AppWrapper) {
			a.NodeHealth.Signals = signals.Table{{Effect: signals.Avoid, Taint: &corev1.Taint{Key: "a"}, PodResourceHealth: true}}
		}, "nodeHealth.signals[0]: 2 of label"},
		"a negative limit": {func(a *AppWrapper) { a.NodeHealth.MaxSimultaneousEvacuations = -1 }, "maxSimultaneousEvacuations: -1"},
	} {
		t.Run(name, func(t *testing.T) {
			a := Default()
			tc.change(&a)
			err := a.Validate()
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// By default, two values of Autopilot's label are signals. Each of them is one row of the signal table.
func TestDefaultSignals(t *testing.T) {
	want := signals.Table{
		{Name: "autopilot.ibm.com/gpuhealth=ERR", Label: &signals.Label{Key: autopilotLabel, Values: []string{"ERR"}}, Resources: []corev1.ResourceName{gpu}, Effect: signals.Avoid},
		{Name: "autopilot.ibm.com/gpuhealth=EVICT", Label: &signals.Label{Key: autopilotLabel, Values: []string{"EVICT"}}, Resources: []corev1.ResourceName{gpu}, Effect: signals.Evacuate},
	}
	config := Default()
	if diff := cmp.Diff(want, config.Table()); diff != "" {
		t.Error(diff)
	}
	config.Autopilot.MonitorNodes, want[1].Effect = false, signals.Avoid
	if diff := cmp.Diff(want, config.Table()); diff != "" {
		t.Error("without evacuations:", diff)
	}
}

func FuzzExitCodes(f *testing.F) {
	f.Add("3, 10")
	f.Add(",,x,-1,99999999999")
	f.Fuzz(func(t *testing.T, value string) {
		p, _ := Read(map[string]string{v1beta2.TerminalExitCodesKey: value}, Default().FaultTolerance)
		if len(p.TerminalExitCodes) > strings.Count(value, ",")+1 {
			t.Errorf("%q is read as %v", value, p.TerminalExitCodes)
		}
	})
}
