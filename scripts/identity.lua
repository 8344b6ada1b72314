-- Prelude of scripts that tell two operations of one number apart. A ledger that has lost its last operations gives their
-- numbers again; 64 random bits, which are text here, tell which one this Redis has applied.

-- operation_text names an operation, as the fields op_id and decided do. An identity of "0" is none.
local function operation_text(op_number, identity)
  return string.format('%.0f %s', op_number, identity)
end

-- same_identity returns false if the field op_id names the operation with that number, and with another identity. It
-- returns true if either identity is not known: version 1.0 gives none, and does not write the field.
local function same_identity(op_id, op_number, identity)
  local named, known = string.match(op_id or '', '^(%d+) (%-?%d+)$')
  if tonumber(named) ~= op_number or known == '0' or identity == '0' then
    return true
  end
  return known == identity
end
