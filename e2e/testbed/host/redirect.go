package host

import (
	"context"
	"fmt"
	"os/exec"
)

// Redirect redirects connections from one address to another address of this host, for pods and for the host
// itself. It replaces a service proxy if only the API server's service is needed.
type Redirect struct {
	// Table is the name of our own table. It keeps the rules of others unchanged, and allows all our rules to be
	// removed together.
	Table    string
	From     string
	FromPort int
	To       string
	ToPort   int
}

// Ensure installs the rules. It replaces existing rules in a single transaction.
func (r Redirect) Ensure(ctx context.Context) error {
	return run(ctx, r.rules(), "nft", "-f", "-")
}

func (r Redirect) rules() string {
	rule := fmt.Sprintf("ip daddr %s tcp dport %d dnat to %s:%d", r.From, r.FromPort, r.To, r.ToPort)
	return fmt.Sprintf(`table ip %[1]s {}
delete table ip %[1]s
table ip %[1]s {
	chain prerouting {
		type nat hook prerouting priority -100; policy accept;
		%[2]s
	}
	chain output {
		type nat hook output priority -100; policy accept;
		%[2]s
	}
}
`, r.Table, rule)
}

// Remove deletes the rules.
func (r Redirect) Remove(ctx context.Context) error {
	return RemoveTable(ctx, "ip", r.Table)
}

// HasTable reports whether the packet filter has the table.
func HasTable(ctx context.Context, family, table string) bool {
	return exec.CommandContext(ctx, "nft", "list", "table", family, table).Run() == nil
}

// RemoveTable deletes a table of the packet filter if it exists.
func RemoveTable(ctx context.Context, family, table string) error {
	if !HasTable(ctx, family, table) {
		return nil
	}
	return run(ctx, "", "nft", "delete", "table", family, table)
}
