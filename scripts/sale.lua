-- Prelude of scripts that read a sale's hash; its fields are in internal/redisstore/README.md.

local MODES = {open = true, paused = true, off = true, over = true, rebuild = true}

-- By how many epochs Redis may be ahead of a ledger restored from a backup; the same as MaxEpochLead in
-- internal/order/recovery. If a higher epoch were believed, no rebuild could reach it.
local MAX_LEAD = 1e9

-- unsold returns the units that a sale has left: returned and reserved ones included, but not one that is reserved for
-- an acceptance, which comes from no stock. Numbers; kept is the field reserved_kept.
local function unsold(stock, returned, reserved, reserved_units, kept)
  return stock + (returned or 0) + ((reserved or 0) > 0 and not kept and (reserved_units or 1) or 0)
end
