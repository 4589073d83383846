package dialect

import "bytes"

// link is the address of an image or another medium: a data address, or a
// location that the provider would fetch.
var link = shapeFunc(func(c *check, i int) *Refusal {
	if c.nodes[i].kind != text {
		return c.bad("no address")
	}
	address := c.bytes(i)[1:]
	if !bytes.HasPrefix(address, []byte("data:")) {
		c.hidden = true
		return c.need(RemoteFiles, "")
	}
	c.medium(i, bytes.HasPrefix(address, []byte("data:image/")))
	return nil
})

// base64 is a medium in base64.
func base64(image bool) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.nodes[i].kind != text {
			return c.bad("no base64")
		}
		c.medium(i, image)
		return nil
	})
}

// hiding accepts a value that may count more tokens than its bytes.
func hiding(s shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		c.hidden = true
		return s.check(c, i)
	})
}

// medium counts a medium in the body. The tokens of an image are bounded; those
// of other media cannot be derived from their size.
func (c *check) medium(i int, image bool) {
	if !image {
		c.hidden = true
		return
	}
	c.images++
	c.mediaBytes += int64(c.nodes[i].end - c.nodes[i].start)
}
