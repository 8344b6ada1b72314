-- Prelude of the read lock's acquire: whose turn it is. Follows readwrite.lua.

-- turn returns nil if the owner of an acquire may read: it reads or writes already, or nobody writes and no writer came
-- before it. Otherwise it gives the owner a place and returns the answer that it must wait.
local function turn(now)
  prune(now)
  recount()
  local owner = owner_of(KEYS[7])
  if owner ~= ARGV[1] and (owner or ahead(KEYS[4]) and not reads(ARGV[1], now)) then
    return line_up(KEYS[6], now, owner and redis.call('PTTL', KEYS[7]) or tonumber(ARGV[5]))
  end
  if vacate(ARGV[6]) then
    local edge = redis.call('ZRANGE', KEYS[6], 499, 499, 'WITHSCORES') -- one more than were notified
    local writer = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
    if edge[1] and (not writer[1] or tonumber(edge[2]) < tonumber(writer[2])) then
      tell(ARGV[7], {edge[1]})
    end
  end
  if owner ~= ARGV[1] and waits(ARGV[1]) and not reads(ARGV[1], now) then
    call_along('+', now)
  end
  return nil
end
