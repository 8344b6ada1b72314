-- Prelude of the fair lock's scripts: whose turn it is. After holds.lua and queue.lua.

-- turn returns nil when the owner of an acquire may take the lock, else the answer that they must wait; then they
-- have a place. They may if the lock is free and nobody came before them, or if they have it already.
local function turn(now)
  prune(now)
  local owner = owner_of(KEYS[1])
  if owner == ARGV[1] or not owner and not ahead(KEYS[4]) then
    vacate(ARGV[6])
    if owner ~= ARGV[1] then
      call_along('=', now)
    end
    return nil
  end
  return line_up(KEYS[4], now, owner and redis.call('PTTL', KEYS[1]) or tonumber(ARGV[5]))
end

-- due returns the first of the queue, if the lock is free.
due = function()
  if redis.call('EXISTS', KEYS[1]) == 1 then
    return {}
  end
  return redis.call('ZRANGE', KEYS[4], 0, 0)
end
