package valkey

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// groupName matches group names that are safe to use in access rules. Other names might contain a pattern.
var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

var passwordHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// SetUsers makes the user of each group accept exactly the given passwords, which are SHA-256 hashes in hexadecimal. It creates
// users that do not exist. Open connections are not affected.
func (s *Store) SetUsers(ctx context.Context, hashes map[string][]string) error {
	if len(hashes) == 0 {
		return nil
	}
	for group, list := range hashes { // other names and hashes would change the meaning of a rule
		if !groupName.MatchString(group) {
			return fmt.Errorf("%.80q cannot name a group in an access rule", group)
		}
		for _, hash := range list {
			if !passwordHash.MatchString(hash) {
				return fmt.Errorf("user of group %s: %.80q is not a SHA-256 hash", group, hash)
			}
		}
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for group, list := range hashes { // a single command for each user, so that it is never without a password
			rules := []string{"on", "resetpass"}
			for _, hash := range list {
				rules = append(rules, "#"+hash)
			}
			p.ACLSetUser(ctx, coordination.UserOf(group), append(rules, rounds.MemberRules(group)...)...)
		}
		return nil
	})
	return inUsers(err)
}

// Users returns the groups that have a user, with the sorted hashes of the user's passwords. A disabled user has no hashes.
func (s *Store) Users(ctx context.Context) (map[string][]string, error) {
	lines, err := s.client.ACLList(ctx).Result()
	if err != nil {
		return nil, inUsers(err)
	}
	users := map[string][]string{}
	for _, line := range lines {
		if group, hashes, ours := parseUser(line); ours {
			users[group] = hashes
		}
	}
	return users, nil
}

// parseUser parses a line of ACL LIST: user NAME, followed by flags and rules.
func parseUser(line string) (group string, hashes []string, ours bool) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "user" {
		return "", nil, false
	}
	group, ours = coordination.GroupOfUser(words[1])
	if !ours || !slices.Contains(words, "on") {
		return group, nil, ours
	}
	for _, word := range words[2:] {
		if hash, is := strings.CutPrefix(word, "#"); is {
			hashes = append(hashes, hash)
		}
	}
	slices.Sort(hashes)
	return group, hashes, ours
}

// DropUser removes a group's user. The server closes the user's connections. It is not an error if the user does not exist.
func (s *Store) DropUser(ctx context.Context, group string) error {
	return inUsers(s.client.ACLDelUser(ctx, coordination.UserOf(group)).Err())
}

func inUsers(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("managing the store's users: %w", unreachable(err))
}
