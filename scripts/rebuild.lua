-- Prelude of the steps of a rebuild.
-- Needs: number

local UNDER_WAY, SUPERSEDED, GONE = 1, 0, 2

-- rebuild_state returns UNDER_WAY if the sale is stopped for the rebuild of this epoch; SUPERSEDED if a newer rebuild
-- has begun, or the sale is open at this epoch or a later one; or GONE if this Redis does not know that the rebuild has
-- begun.
local function rebuild_state(sale_key, epoch)
  local sale = redis.call('HMGET', sale_key, 'epoch', 'building')
  local current, building = number(sale[1]) or 0, number(sale[2]) or 0
  if current >= epoch or building > epoch then
    return SUPERSEDED
  end
  return building == epoch and UNDER_WAY or GONE
end
