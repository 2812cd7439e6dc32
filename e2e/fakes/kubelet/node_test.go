package kubelet

import (
	"net/netip"
	"slices"
	"testing"
)

func TestPoolsAreEqualAndContiguous(t *testing.T) {
	for name, test := range map[string]struct{ nodes, pools, smallest, largest int }{
		"one pool":                    {nodes: 10, pools: 1, smallest: 10, largest: 10},
		"pools that divide the nodes": {nodes: 1000, pools: 8, smallest: 125, largest: 125},
		"pools that do not":           {nodes: 10, pools: 3, smallest: 3, largest: 4},
		"as many pools as nodes":      {nodes: 7, pools: 7, smallest: 1, largest: 1},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{Nodes: test.nodes, Pools: test.pools}.defaulted()
			var sizes []int
			last := ""
			for i := range test.nodes {
				if pool := options.pool(i); pool != last {
					sizes, last = append(sizes, 0), pool
				}
				sizes[len(sizes)-1]++
			}
			if len(sizes) != test.pools || slices.Min(sizes) != test.smallest || slices.Max(sizes) != test.largest {
				t.Errorf("sizes %v", sizes)
			}
		})
	}
}

func TestAddressesAreValidAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for i := range 10000 {
		for _, address := range []string{hostAddress(i), podAddress(uint32(i))} {
			if _, err := netip.ParseAddr(address); err != nil || seen[address] {
				t.Fatalf("%s is bad or given twice (%v)", address, err)
			}
			seen[address] = true
		}
	}
}

func TestOptions(t *testing.T) {
	if err := (Options{Nodes: -1}).defaulted().validate(); err == nil {
		t.Error("a negative number of nodes is accepted")
	}
	options := Options{Nodes: 3}.defaulted()
	if err := options.validate(); err != nil {
		t.Error(err)
	}
	if options.Rules == nil || *options.Rules != KubeletRules() || options.Name != "sim" || options.Pools != 1 {
		t.Errorf("defaults are %+v", options)
	}
}
