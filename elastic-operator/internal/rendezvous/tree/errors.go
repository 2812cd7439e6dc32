package tree

import "fmt"

// Code is etcd's number of an error; clients decide by it.
type Code int

// The codes that torch's clients know.
const (
	CodeNotFound      Code = 100
	CodeCompareFailed Code = 101
	CodeNotFile       Code = 102
	CodeNotFolder     Code = 104
	CodeExists        Code = 105
	CodeReadOnly      Code = 107
	CodeNotEmpty      Code = 108
	CodeForbidden     Code = 110
	CodeBadField      Code = 209
	CodeInternal      Code = 300
	CodeCleared       Code = 401
)

var messages = map[Code]string{
	CodeNotFound: "Key not found", CodeCompareFailed: "Compare failed", CodeNotFile: "Not a file", CodeNotFolder: "Not a directory",
	CodeExists: "Key already exists", CodeReadOnly: "Root is read only", CodeNotEmpty: "Directory not empty",
	CodeForbidden: "The request requires user authentication", CodeBadField: "Invalid field", CodeInternal: "Raft Internal Error",
	CodeCleared: "The event in requested index is outdated and cleared",
}

// Error is an operation that was refused.
type Error struct {
	Code  Code
	Cause string // the path, or what did not compare
	Index uint64 // of the tree at that time
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Message(), e.Cause) }

// Message is etcd's text for the code.
func (e *Error) Message() string { return messages[e.Code] }
