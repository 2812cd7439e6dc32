package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedirectReplacesItsTableInOneTransaction(t *testing.T) {
	redirect := Redirect{Table: "mine", From: "10.96.0.1", FromPort: 443, To: "10.87.0.1", ToPort: 6443}
	want := `table ip mine {}
delete table ip mine
table ip mine {
	chain prerouting {
		type nat hook prerouting priority -100; policy accept;
		ip daddr 10.96.0.1 tcp dport 443 dnat to 10.87.0.1:6443
	}
	chain output {
		type nat hook output priority -100; policy accept;
		ip daddr 10.96.0.1 tcp dport 443 dnat to 10.87.0.1:6443
	}
}
`
	if diff := cmp.Diff(want, redirect.rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
