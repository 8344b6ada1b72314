-- Prelude of the write lock's acquire: whose turn it is. Follows readwrite.lua.

-- turn returns nil if the owner of an acquire may write: it writes already, or nobody reads or writes and nobody came
-- before it. An owner who reads is refused, because it would wait for itself. Otherwise turn gives the owner a place
-- and returns the answer that it must wait.
local function turn(now)
  prune(now)
  recount()
  local owner = owner_of(KEYS[7])
  if owner ~= ARGV[1] then
    local own, sure = reads(ARGV[1], now)
    if own then
      return sure and {-2, 0} or {0, 1} -- refused: its release gives up its place and wakes the next
    end
  end
  local taken = math.max(redis.call('PTTL', KEYS[7]), redis.call('PTTL', KEYS[8])) -- -2: neither key exists
  if owner == ARGV[1] or taken == -2 and not ahead(KEYS[4]) and not ahead(KEYS[6]) then
    vacate(ARGV[6])
    if owner ~= ARGV[1] then
      call_along('=', now)
    end
    return nil
  end
  return line_up(KEYS[4], now, taken == -2 and tonumber(ARGV[5]) or taken)
end
