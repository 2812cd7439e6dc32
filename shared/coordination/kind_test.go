package coordination

import "testing"

func TestKindLabel(t *testing.T) {
	for kind, want := range map[string]string{
		KindExit: KindExit, KindStops: KindStops, KindTimeout: KindTimeout, "": "other", "forged": "other", "exit ": "other",
	} {
		if got := KindLabel(kind); got != want {
			t.Errorf("%q counts as %q, want %q", kind, got, want)
		}
	}
}

func TestUsersAreNamedAfterTheirGroup(t *testing.T) {
	if group, ok := GroupOfUser(UserOf("uid")); group != "uid" || !ok {
		t.Errorf("group %q, %v", group, ok)
	}
	if _, ok := GroupOfUser("default"); ok {
		t.Error("the default user is taken for one of ours")
	}
}
