// Package client is a client of TCPStore, for measurements: it sends what torch's own client would.
package client

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Client is one connection. It is not safe for concurrent use.
type Client struct {
	conn    net.Conn
	reader  *bufio.Reader
	dialect tcpstore.Dialect
	buffer  []byte
}

// Dial connects, and greets where the dialect begins with a greeting.
func Dial(address string, d tcpstore.Dialect) (*Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, reader: bufio.NewReaderSize(conn, 4<<10), dialect: d}
	if d == tcpstore.Validated {
		if _, err := conn.Write(tcpstore.Greeting()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) send(q tcpstore.Request) (err error) {
	if c.buffer, err = tcpstore.Append(c.buffer[:0], c.dialect, q); err != nil {
		return err
	}
	_, err = c.conn.Write(c.buffer)
	return err
}

// Set writes a value. There is no reply, so it returns before the server has it.
func (c *Client) Set(key string, value []byte) error {
	return c.send(tcpstore.Request{Op: tcpstore.OpSet, Keys: []string{key}, Values: [][]byte{value}})
}

// Get waits for a key and returns its value.
func (c *Client) Get(key string) ([]byte, error) {
	if err := c.Wait(key); err != nil {
		return nil, err
	}
	if err := c.send(tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{key}}); err != nil {
		return nil, err
	}
	return c.value()
}

// Wait returns when all keys are there.
func (c *Client) Wait(keys ...string) error {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: keys}); err != nil {
		return err
	}
	_, err := c.reader.ReadByte()
	return err
}

// CompareSet returns what the key holds afterwards.
func (c *Client) CompareSet(key string, expected, desired []byte) ([]byte, error) {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpCompareSet, Keys: []string{key}, Values: [][]byte{expected, desired}}); err != nil {
		return nil, err
	}
	return c.value()
}

// Add returns the sum.
func (c *Client) Add(key string, n int64) (int64, error) {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpAdd, Keys: []string{key}, Number: n}); err != nil {
		return 0, err
	}
	sum, err := c.number()
	return int64(sum), err
}

// maxValue is more than any server sends.
const maxValue = 1 << 30

func (c *Client) value() ([]byte, error) {
	n, err := c.number()
	if err != nil {
		return nil, err
	}
	if n > maxValue {
		return nil, fmt.Errorf("a value of %d bytes", n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(c.reader, b)
	return b, err
}

func (c *Client) number() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(c.reader, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}
