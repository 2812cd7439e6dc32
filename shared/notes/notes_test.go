package notes

import "testing"

func TestTruncateDoesNotSplitCharacters(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "ää": "ä", "äää": "ä"} {
		if got := Truncate(text, 3); got != want {
			t.Errorf("Truncate(%q, 3) = %q, want %q", text, got, want)
		}
	}
}
