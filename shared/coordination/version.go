package coordination

import "fmt"

// Version is the protocol version. It covers the store's functions, the messages and the stored data, and is part of the names of
// keys and functions. A store with a different version is rejected with a VersionError.
const Version = "2"

// VersionError means that the functions in the store belong to another protocol version. Nothing was read or changed.
type VersionError struct{ Store string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the store serves protocol version %.20s, this program speaks version %s", e.Store, Version)
}
