package charts

import (
	"slices"
	"strings"
	"testing"
)

func TestManagerGetsRendezvousImage(t *testing.T) {
	has := func(values string) bool {
		return slices.ContainsFunc(mustParse(t, elasticChart, values).container(t, "manager").Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--rendezvous-image=")
		})
	}
	if !has("") || has(installed[elasticChart].settings["bare"]) {
		t.Error("--rendezvous-image does not follow rendezvous.enabled")
	}
}
