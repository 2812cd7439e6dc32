package coordination

import "fmt"

// Version is the version of the protocol: of the store's functions, of messages and of stored data. The names of keys and functions
// contain it. A store with another version is rejected with a VersionError.
const Version = "2"

// VersionError means that the store has the functions of another protocol version. Nothing was read or changed.
type VersionError struct{ Store string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the store serves protocol version %.20s, this program speaks version %s", e.Store, Version)
}
