package coordination

import "fmt"

// Version is the version of the protocol: of the store's functions, of messages and of stored data. A store that serves another
// version is refused with a VersionError. The names of keys and functions carry it.
const Version = "2"

// VersionError says that the store holds the functions of another protocol version. Nothing was read or changed.
type VersionError struct{ Store string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the store serves protocol version %.20s, this program speaks version %s", e.Store, Version)
}
